/** Returns the finalizer that the attacher of a driver sets on VolumeAttachments and PersistentVolumes. */
export function finalizerName(driverName: string): string {
  const sanitised = driverName.replace(/[^A-Za-z0-9-]/gu, '-')
  return `external-attacher/${sanitised}${sanitised.endsWith('-') ? 'X' : ''}`
}
