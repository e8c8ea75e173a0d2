import type { Application } from '../application.ts';
import { immediate } from '../application.ts';
import type { Channel } from '../channel.ts';

/** `set name=value`; without a value the variable is unset. */
export const set: Application = immediate('set', ({ channel, data }) => assign(channel, data));

/** `unset name`. */
export const unset: Application = immediate('unset', ({ channel, data }) => channel.forget(data.trim()));

/** `export name=value`: like `set`, and remembered for legs that this one would create. */
export const exportVariable: Application = immediate('export', ({ channel, data }) => {
  const assignment = data.replace(/^nolocal:/, '');
  const name = assign(channel, assignment);
  const names = new Set((channel.get('export_vars') ?? '').split(',').filter(Boolean)).add(name);
  channel.set('export_vars', [...names].join(','));
});

/** `multiset ^^<separator>a=b<separator>c=d`; the separator is a space when none is given. */
export const multiset: Application = immediate('multiset', ({ channel, data }) => {
  const separator = data.startsWith('^^') ? data.charAt(2) : ' ';
  const list = data.startsWith('^^') ? data.slice(3) : data;
  for (const assignment of list.split(separator || ' ')) if (assignment !== '') assign(channel, assignment);
});

/** Carries out `name=value` and gives the name. */
export function assign(channel: Channel, assignment: string): string {
  const equals = assignment.indexOf('=');
  const name = (equals < 0 ? assignment : assignment.slice(0, equals)).trim();
  if (name !== '') channel.set(name, equals < 0 ? '' : assignment.slice(equals + 1));
  return name;
}
