/** A change to one object, as the API server takes it. */
export interface Patch {
  readonly kind: 'merge' | 'json' | 'strategic'
  readonly body: unknown
}

export const PATCH_CONTENT_TYPES: Readonly<Record<Patch['kind'], string>> = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
}
