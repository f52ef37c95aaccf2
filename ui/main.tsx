/* Where the GUI begins. */
import { render } from 'preact';
import { App } from './pages/app';

const root = document.getElementById('app');
if (root) render(<App />, root);
