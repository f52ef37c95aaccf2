/* What is good and what is not about a recording, one line each: always a word beside the mark. */
import type { Health } from '../api/types';

export function HealthList({ lines }: { lines: Health['lines'] }) {
  return (
    <ul class="health">
      {lines.map((line, i) => (
        <li key={i}>
          <span class={`state ${line.state}`}>{line.title}</span>
          <span class="dim" title={line.detail}>
            {line.detail}
          </span>
        </li>
      ))}
    </ul>
  );
}
