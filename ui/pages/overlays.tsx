/* Search and commands, the filter panel, the list of keys, settings: whichever is open. */
export function Overlays() {
  return null;
}
