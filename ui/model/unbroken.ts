/* Sentences of the server with figures that stay whole. Pure. */

const NO_BREAK = '\u00a0';
const GROUP = '\u202f';

/* A figure keeps its unit in the line, and its digits: "17 895", "3.81 MiB", "8.31 µs". */
export const unbroken = (text: string): string =>
  text
    .replace(/(\d) us\b/g, '$1 µs')
    .replace(/(\d) (?=\d{3}\b)/g, `$1${GROUP}`)
    .replace(
      /(\d) (?=(?:[KMGT]i)?B\b|%|[kMG]\b|(?:n|µ|m)?s\b|[mhd] \d\d|[mhd]\b)/g,
      `$1${NO_BREAK}`,
    );
