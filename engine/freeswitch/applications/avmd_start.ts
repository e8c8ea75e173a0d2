import type { Application } from '../application.ts';
import { immediate } from '../application.ts';
import { startAvmd, stopAvmd } from '../avmd.ts';

/** `avmd_start [<settings>]`: waits for the beep of an answering machine beside whatever runs. The settings change nothing. */
export const avmdStart: Application = immediate('avmd_start', ({ channel }) => void startAvmd(channel));

/** `avmd_stop`. */
export const avmdStop: Application = immediate('avmd_stop', ({ channel }) => void stopAvmd(channel));
