// tsx announces itself to the main thread only (https://github.com/privatenumber/tsx/issues/354), and no Worker begins with TypeScript.
require('tsx/cjs');
require('./worker.ts');
