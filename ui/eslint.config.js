/* Rules for the GUI's sources: TypeScript's recommended ones, hooks, and the layers:
 * model <- api <- state <- widgets <- pages. A folder imports from those before it, never behind. */
import hooks from 'eslint-plugin-react-hooks';
import tseslint from 'typescript-eslint';

const LAYERS = ['model', 'api', 'state', 'widgets', 'pages'];

/* The reader chooses how moments are written; model/format cannot know. */
const NO_BARE_CLOCK = {
  group: ['**/model/format'],
  importNames: ['clock'],
  message: 'write moments with useClock() of state/clock.ts: the reader may want the wall clock',
};

const layerRules = LAYERS.map((layer, i) => ({
  files: [`${layer}/**/*.{ts,tsx}`],
  rules: {
    'no-restricted-imports': [
      'error',
      {
        patterns: [
          ...LAYERS.slice(i + 1).map((later) => ({
            group: [`**/${later}/*`],
            message: `${layer}/ comes before ${later}/: data flows one way`,
          })),
          ...(['widgets', 'pages'].includes(layer) ? [NO_BARE_CLOCK] : []),
        ],
      },
    ],
  },
}));

export default tseslint.config(
  { ignores: ['dist/', 'node_modules/', 'api/types.ts'] },
  ...tseslint.configs.recommended,
  {
    files: ['**/*.{ts,tsx}'],
    plugins: { 'react-hooks': hooks },
    rules: {
      'react-hooks/rules-of-hooks': 'error',
      eqeqeq: 'error',
      'no-console': 'error',
      'max-lines': ['error', { max: 600 }],
      'max-lines-per-function': ['error', { max: 120, skipBlankLines: true, skipComments: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
    },
  },
  ...layerRules,
);
