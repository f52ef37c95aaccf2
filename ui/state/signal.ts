/* A value that components watch. The GUI's whole state is a handful of these. */
import { useEffect, useReducer } from 'preact/hooks';

export class Signal<T> {
  private listeners = new Set<() => void>();

  constructor(private current: T) {}

  get value(): T {
    return this.current;
  }

  set(next: T): void {
    if (Object.is(next, this.current)) return;
    this.current = next;
    for (const listener of [...this.listeners]) listener();
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

/* The value, and a new rendering whenever the value changes. */
export function useSignal<T>(signal: Signal<T>): T {
  const [, render] = useReducer((n: number) => n + 1, 0);
  useEffect(() => {
    const seen = signal.value;
    const stop = signal.subscribe(() => render(0));
    if (!Object.is(seen, signal.value)) render(0);
    return stop;
  }, [signal]);
  return signal.value;
}
