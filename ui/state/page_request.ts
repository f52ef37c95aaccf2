/* The request that brought what the page on screen shows, for "Copy as curl". */
import { useEffect } from 'preact/hooks';
import { Signal } from './signal';

/* null: the page has no request of its own, or has not asked yet. */
export const pageRequest = new Signal<string | null>(null);

/* Says what it is, while the component is shown. url null: not this one. */
export function usePageRequest(url: string | null): void {
  useEffect(() => {
    if (url === null) return undefined;
    pageRequest.set(url);
    return () => {
      if (pageRequest.value === url) pageRequest.set(null);
    };
  }, [url]);
}
