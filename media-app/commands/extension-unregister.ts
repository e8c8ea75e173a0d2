import type { CommandHandler } from './catalogue.ts';

/** A deleted extension is reachable nowhere. */
export const extensionUnregister: CommandHandler<'extension.unregister'> = async (
  { contacts },
  { extension_id },
  from,
) => {
  await contacts.clear(extension_id, from.request_id);
  return {};
};
