/** The code of a failed translation, for programs. The migration cases use these codes. */
export type TranslationErrorCode =
  | 'NIL_OBJECT'
  | 'NO_TRANSLATION_LOGIC'
  | 'UNKNOWN_NAME'
  | 'AWS_BAD_VOLUME_ID'
  | 'AWS_ZONE_FORMAT'
  | 'GCE_ZONE_FORMAT'
  | 'GCE_HANDLE_ELEMENTS'
  | 'GCE_NODE_ELEMENTS'
  | 'GCE_REGIONALITY'
  | 'REGION_NOT_UNIQUE'
  | 'NO_ZONES'
  | 'NO_VALID_ZONES'
  | 'AZURE_DISK_KIND'
  | 'AZURE_DISK_URI'
  | 'AZURE_FILE_NO_SECRET_NAMESPACE'
  | 'AZURE_FILE_HANDLE'
  | 'AZURE_FILE_ACCOUNT'
  | 'BAD_PARTITION'
  | 'SC_ZONE_AND_TOPOLOGY'

/** The error of a translation. Its message is the message of upstream, because users see it in objects and Events. */
export class TranslationError extends Error {
  override readonly name = 'TranslationError'
  readonly code: TranslationErrorCode

  constructor(code: TranslationErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** Runs `translate`, and adds `prefix` to the message of its error, as upstream does. The code stays. */
export function explaining<T>(prefix: string, translate: () => T): T {
  try {
    return translate()
  } catch (error) {
    if (!(error instanceof TranslationError)) throw error
    throw new TranslationError(error.code, prefix + error.message, { cause: error })
  }
}
