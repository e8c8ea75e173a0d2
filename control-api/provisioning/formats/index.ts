import { cisco } from './cisco.ts';
import type { Format } from './format.ts';
import { grandstream } from './grandstream.ts';
import { json } from './json.ts';
import { lpconfig } from './lpconfig.ts';
import { snom } from './snom.ts';
import { yealink } from './yealink.ts';

/** Every kind of settings file; the first is what phones get that say nothing else. */
export const formats: [Format, ...Format[]] = [lpconfig, json, yealink, grandstream, snom, cisco];
