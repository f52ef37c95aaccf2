/* The fields of the filter panel: a text, a pair of bounds, one of a few words. The error of a field
 * stands below it. */
import { RANGE_MEANINGS, type FilterField } from '../model/filters';
import type { Draft } from '../model/filter_draft';
import { Icon } from '../widgets/icons';
import { Menu } from '../widgets/floating';

export interface FormState {
  draft: Draft;
  errors: Readonly<Record<string, string>>; // parameter -> sentence
  change: (changes: Draft) => void;
}

interface FieldProps {
  field: FilterField;
  form: FormState;
}

/* Label, input and what is below: three children of the form's grid. */
export function Field({ field, form }: FieldProps) {
  const [low, high] = field.keys;
  const error = form.errors[low] ?? (high ? form.errors[high] : undefined);
  const hint = field.kind === 'choice' ? choiceHint(field, form) : field.hint;
  const isChoice = field.kind === 'choice';
  return (
    <>
      {isChoice ? (
        <span class="label" id={`label-${low}`} title={field.hint}>
          {field.label}
        </span>
      ) : (
        <label for={`field-${low}`} title={field.hint}>
          {field.label}
        </label>
      )}
      {isChoice ? (
        <Choice field={field} form={form} />
      ) : high ? (
        <span class="pair">
          <Input field={field} form={form} index={0} />
          <span class="dim">to</span>
          <Input field={field} form={form} index={1} />
        </span>
      ) : (
        <Input field={field} form={form} index={0} />
      )}
      {error && (
        <span class="err" id={`error-${low}`} role="status">
          {error}
        </span>
      )}
      {!error && hint && <span class="hint">{hint}</span>}
    </>
  );
}

function Input({ field, form, index }: FieldProps & { index: 0 | 1 }) {
  const [low] = field.keys;
  const key = field.keys[index] ?? low;
  const { placeholder } = field;
  const isBad = form.errors[key] !== undefined;
  const isCode = field.kind === 'regex' || key.startsWith('address');
  return (
    <span class={'field' + (isBad ? ' bad' : '')}>
      <input
        id={`field-${key}`}
        data-key={key}
        class={isCode ? 'code' : undefined}
        value={form.draft[key] ?? ''}
        placeholder={typeof placeholder === 'string' ? placeholder : placeholder?.[index]}
        aria-label={index === 1 ? `${field.label}, upper bound` : undefined}
        aria-invalid={isBad}
        aria-describedby={isBad ? `error-${low}` : undefined}
        spellcheck={false}
        autocomplete="off"
        onInput={(e) => form.change({ [key]: e.currentTarget.value })}
      />
    </span>
  );
}

const IN_SIGHT = 3; // words of a choice that are always shown; the others are in its menu

function Choice({ field, form }: FieldProps) {
  const key = field.keys[0];
  const value = form.draft[key] ?? '';
  const choices = field.choices ?? [];
  const others = choices.slice(IN_SIGHT);
  const choose = (next: string) => form.change({ [key]: next });
  const isOther = others.some(([id]) => id === value);
  return (
    <span class="seg" role="group" aria-labelledby={`label-${key}`}>
      {choices.slice(0, IN_SIGHT).map(([id, words], i) => (
        <button
          key={id}
          type="button"
          data-key={i === 0 ? key : undefined}
          aria-pressed={id === value}
          onClick={() => choose(id)}
        >
          {words}
        </button>
      ))}
      {others.length > 0 && (
        <Menu
          label={`More answers for ${field.label}`}
          class={isOther ? 'on' : ''}
          button={
            <>
              More
              <Icon name="caret" />
            </>
          }
          items={() =>
            others.map(([id, words]) => ({
              label: words,
              isChecked: id === value,
              act: () => choose(id),
            }))
          }
        />
      )}
    </span>
  );
}

/* The words of a choice that is in the menu only. */
function choiceHint(field: FilterField, form: FormState): string | undefined {
  const value = form.draft[field.keys[0]] ?? '';
  return field.choices?.slice(IN_SIGHT).find(([id]) => id === value)?.[1];
}

/* What the time range means; asked for once there is a range. */
export function RangeMeaningField({ form }: { form: FormState }) {
  if (!form.draft['t0'] && !form.draft['t1']) return null;
  return (
    <>
      <label for="field-tm">The range means</label>
      <span class="field">
        <select
          id="field-tm"
          data-key="tm"
          value={form.draft['tm'] ?? 'in'}
          onChange={(e) => form.change({ tm: e.currentTarget.value })}
        >
          {RANGE_MEANINGS.map(([id, , words]) => (
            <option key={id} value={id}>
              {words}
            </option>
          ))}
        </select>
      </span>
    </>
  );
}
