/* Three boxes that filter by function, module and file: the filters function_regex, module_regex and
 * source_regex of the address, written as people type them (model/regex_box.ts). One frame of a stack has
 * to match all three. */
import { boxOfRegex, regexOfBox } from '../model/regex_box';
import { setQuietly, useAddress } from '../state/router';
import { FindField } from './controls';
import { Icon } from './icons';

const BOXES = [
  ['function_regex', 'Function'],
  ['module_regex', 'Module'],
  ['source_regex', 'File'],
] as const;

/* badKey: the parameter that the server could not read */
export function FilterBoxes({ badKey }: { badKey?: string | undefined }) {
  const { params } = useAddress();
  return (
    <>
      <Icon name="filter" />
      {BOXES.map(([key, label], i) => (
        <FindField
          key={key}
          isBox
          hasKey={i === 0}
          class="box"
          label={label}
          title="A part of the name, or /a regular expression/"
          value={boxOfRegex(params[key] ?? '')}
          isBad={badKey === key}
          onChange={(text) => setQuietly({ [key]: regexOfBox(text) })}
        />
      ))}
    </>
  );
}
