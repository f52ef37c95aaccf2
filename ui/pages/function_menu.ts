/* What can be done with a function, wherever its name stands: the menu at a right click. */
import { isExported } from '../api/client';
import { baseName, codeName, exactRegex, type FrameName } from '../model/names';
import { notFunction, onlyFunction } from '../model/only_this';
import { copyText } from '../state/overlay';
import { address, goPage, hrefPage, set } from '../state/router';
import { openMenu, pointerBox, type MenuItem } from '../widgets/floating';

export const onlyThis = (name: string): void => set(onlyFunction(name));
export const notThis = (name: string): void => set(notFunction(address.value.params, name));

/* The pages that show more of the function, and the filters that begin with it. */
export function functionItems(frame: FrameName): MenuItem[] {
  const a = address.value;
  const name = codeName(frame);
  return [
    { label: 'Only this', hint: 'O', act: () => onlyThis(name) },
    { label: 'Not this', hint: 'X', act: () => notThis(name) },
    { label: 'Call sites', href: hrefPage(a, 'sites', onlyFunction(name)) },
    { label: 'Allocations', href: hrefPage(a, 'allocations', onlyFunction(name)) },
    { label: 'Callers and callees', act: () => goPage('callers', { sel: `fn:${name}` }) },
    ...(frame.module
      ? [
          {
            label: `Only stacks in ${baseName(frame.module)}`,
            act: () => set({ module_regex: exactRegex(frame.module ?? '') }),
          },
        ]
      : []),
  ];
}

/* For the row of a table; null: the row is of no function, and the browser's own menu opens. */
export function openFunctionMenu(e: MouseEvent, frame: FrameName | null): void {
  if (!frame || isExported) return;
  e.preventDefault();
  const name = codeName(frame);
  const { source, line } = frame;
  openMenu(
    [
      ...functionItems(frame),
      {
        label: 'Flame graph',
        href: hrefPage(address.value, 'flame', { sel: `fn:${name}` }),
      },
      ...(source
        ? [
            {
              label: 'Source',
              href: hrefPage(address.value, 'source', { file: source, line: String(line ?? 1) }),
            },
          ]
        : []),
      { label: 'Copy name', act: () => void copyText(name, 'Name') },
    ],
    pointerBox(e),
    null,
  );
}
