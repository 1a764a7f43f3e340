/**
 * Returns a handle in the form in which handles are compared. Case is ignored: the listing of a back end may write a
 * resource group in another case than the PersistentVolume. Two handles that differ only in case count as one.
 */
export function comparableHandle(handle: string): string {
  return handle.toLowerCase()
}

/** Returns the text after the last slash. Some back ends write one handle with different paths before it. */
export function lastPart(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1)
}

/** The handle that the kubelet gives to the inline volume of a pod. Such a volume has no object. */
const INLINE_VOLUME = /^csi-[0-9a-f]{64}$/

export function isInlineVolume(id: string): boolean {
  return INLINE_VOLUME.test(id)
}
