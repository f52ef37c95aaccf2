/* The details panel of a call site: whose line, its five costs, its graph, facts and stack. */
import type { GroupRows } from '../api/types';
import { askedSpanNs, hasFilter, rangeOf } from '../model/filters';
import { bytes, clockDigits, join } from '../model/format';
import {
  frameFull,
  frameLocation,
  framePath,
  frameTitle,
  baseName,
  ownerOf,
  OWNER_WORDS,
} from '../model/names';
import { useClock } from '../state/clock';
import { useQuery } from '../state/query';
import { useRecording } from '../state/recordings';
import { editorLink } from '../state/settings';
import { useAddress, useCost } from '../state/router';
import { Block } from '../widgets/details';
import { CostBars } from '../widgets/figures';
import { openMenu } from '../widgets/floating';
import { Icon } from '../widgets/icons';
import { ErrorNote, Note } from '../widgets/notes';
import { Sparkline } from '../widgets/sparkline';
import { GraphWords } from './graph_words';
import { SiteActions, SiteFacts, siteItems, SiteStack, useSite } from './site_parts';

export function SiteDetails({ value }: { value: string }) {
  const stack = Number(value);
  const cost = useCost();
  const { params } = useAddress();
  const recording = useRecording();
  const clock = useClock();
  const site = useSite(stack);
  const total = useQuery<GroupRows>('groups', { by: 'stack', count: 0, base: null }).data?.total;
  if (site.error) return <ErrorNote error={site.error} again={site.again} />;
  if (!site.data) return <div aria-busy="true" />;
  if (!site.row) return <OutsideFilter stack={stack} />;
  const { row } = site;
  const { blame } = row;
  const runNs = recording?.duration_ns ?? 1;
  const most = row.max_bytes ?? 0;
  return (
    <div class={site.isStale ? 'stale' : undefined}>
      {blame && (
        <Block>
          <div class="block-title" title={frameFull(blame)}>
            <small>{framePath(blame)}</small>
            {frameTitle(blame)}
          </div>
          <div class="where dim">
            {blame.source ? (
              <a class="link" href={editorLink(blame.source, blame.line ?? 1)}>
                {frameLocation(blame)}
              </a>
            ) : (
              frameLocation(blame)
            )}
            {blame.module && `, ${baseName(blame.module)}`}, {OWNER_WORDS[ownerOf(blame.class)]}
          </div>
        </Block>
      )}
      <Block>
        <SiteActions stack={stack} />
      </Block>
      <Block title="Cost of this call site" right="of what matches">
        {total && <CostBars cost={row.cost} total={total} />}
      </Block>
      {row.timeline && (
        <Block
          title="Alive over time"
          right={`${join(bytes(most))} at most${hasFilter(params) ? ', whole recording' : ''}`}
        >
          <div class="panel-graph">
            <Sparkline
              alive={row.timeline}
              leaked={row.leaked_timeline}
              label={`Bytes alive over time: most ${join(bytes(most))} at ${clock(row.max_at_ns ?? 0, clockDigits(runNs))}, ${join(bytes(row.cost.leaked_bytes))} never freed`}
            />
          </div>
          <GraphWords
            spanNs={rangeOf(params) ? askedSpanNs({ ...params, tm: 'in' }, runNs) : runNs}
            shown={Math.max(0, ...row.timeline)}
            most={hasFilter(params) ? 0 : most}
          />
        </Block>
      )}
      <Block title="Facts">
        <SiteFacts stack={stack} row={row} graphRow={row} />
      </Block>
      <Block
        title="Stack"
        right={
          recording && (
            <button
              type="button"
              class="btn quiet small icon"
              aria-label="Menu of this stack"
              aria-haspopup="menu"
              onClick={(e) =>
                openMenu(
                  siteItems(recording.id, stack),
                  e.currentTarget.getBoundingClientRect(),
                  e.currentTarget,
                )
              }
            >
              <Icon name="dots" />
            </button>
          )
        }
      >
        <SiteStack stack={stack} blame={blame} cost={cost} hasPath={false} />
      </Block>
    </div>
  );
}

/* The filters let nothing of it through: say so, and show what does not depend on them. */
const OutsideFilter = ({ stack }: { stack: number }) => (
  <>
    <Block>
      <Note title="Nothing of this call site matches the filters.">
        Its stack is the same without them.
      </Note>
    </Block>
    <Block title="Stack">
      <SiteStack stack={stack} hasPath={false} />
    </Block>
  </>
);
