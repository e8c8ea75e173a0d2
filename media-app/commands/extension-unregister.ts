import type { CommandHandler } from './catalogue.ts';

/** A deleted extension is reachable nowhere. */
export const extensionUnregister: CommandHandler<'extension.unregister'> = async (services, { extension_id }) => {
  await services.contacts.clear(extension_id);
  return {};
};
