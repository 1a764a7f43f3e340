import { ApiFailure, patchedObject } from '@csi-sidecars/emulator'
import { PATCH_CONTENT_TYPES, type Patch, type Resource, type Status } from '@csi-sidecars/kube-types'

/**
 * What a patch of any kind makes of an object, by the emulator's own code, for fakes that are too small for a server:
 * nothing is validated and no version changes. What cannot be applied is thrown as `errorOf` makes it.
 */
export function applyPatch<T extends object>(
  object: T,
  patch: Patch,
  { resource, errorOf }: { readonly resource: Resource<T>; readonly errorOf: (status: Status) => Error },
): T {
  try {
    const change = { contentType: PATCH_CONTENT_TYPES[patch.kind], body: patch.body }
    return patchedObject(resource, { metadata: {}, ...object }, change) as unknown as T
  } catch (error) {
    if (error instanceof ApiFailure) throw errorOf(error.status() as unknown as Status)
    throw error
  }
}
