import { ApiFailure, patchedObject } from '@csi-sidecars/emulator'
import { PATCH_CONTENT_TYPES, type Patch, type Resource, type Status } from '@csi-sidecars/kube-types'

/**
 * Applies a patch of any kind with the code of the emulator, for fakes that are too small for a server. It validates
 * nothing, keeps the version, and omits empty fields. Throws the error of `errorOf` if the patch cannot be applied.
 */
export function applyPatch<T extends object>(
  object: T,
  patch: Patch,
  { resource, errorOf }: { readonly resource: Resource<T>; readonly errorOf: (status: Status) => Error },
): T {
  try {
    const change = { contentType: PATCH_CONTENT_TYPES[patch.kind], body: patch.body }
    return withoutEmpty(patchedObject(resource, { metadata: {}, ...object }, change)) as T
  } catch (error) {
    if (error instanceof ApiFailure) throw errorOf(error.status() as unknown as Status)
    throw error
  }
}

function withoutEmpty(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const entries = Object.entries(value).map(([key, inner]) => [key, withoutEmpty(inner)] as const)
  return Object.fromEntries(entries.filter(([, inner]) => !isEmpty(inner)))
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}
