/* The button in a chart's head that saves the chart as a image, as it is on the screen. */
import { download } from '../state/table_csv';
import { font, token } from './canvas';
import { Icon } from './icons';

const HEAD_PX = 28;
const LEFT_PX = 12;
const KEPT_MS = 10_000; // until the browser has stored it

export function SaveChart({ title }: { title: string }) {
  return (
    <button
      type="button"
      class="btn small icon quiet save"
      aria-label={`Save the chart “${title}” as a image`}
      title="Save as PNG"
      onClick={(e) => {
        const drawn = e.currentTarget.closest('.card')?.querySelector('canvas');
        if (drawn) save(drawn, title);
      }}
    >
      <Icon name="download" />
    </button>
  );
}

function save(drawn: HTMLCanvasElement, title: string): void {
  const scale = drawn.width / Math.max(1, drawn.clientWidth);
  const image = document.createElement('canvas');
  image.width = drawn.width;
  image.height = drawn.height + HEAD_PX * scale;
  const draw = image.getContext('2d');
  if (!draw) return;
  draw.fillStyle = token('--bg-view');
  draw.fillRect(0, 0, image.width, image.height);
  draw.drawImage(drawn, 0, HEAD_PX * scale);
  draw.scale(scale, scale);
  draw.fillStyle = token('--text');
  draw.font = font(12, 600);
  draw.textBaseline = 'middle';
  draw.fillText(title, LEFT_PX, HEAD_PX / 2);
  image.toBlob((blob) => {
    if (!blob) return;
    const url = URL.createObjectURL(blob);
    download(url, `${title.toLowerCase().replace(/\W+/g, '-')}.png`);
    setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
  });
}
