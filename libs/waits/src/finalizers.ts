/** Of both sidecars only the attacher has one, on VolumeAttachments and PersistentVolumes. */
export const OWN_FINALIZERS = 'external-attacher/'
/** The provisioner keeps a volume with it until the driver has deleted it. */
export const PROVISIONER_FINALIZERS = 'external-provisioner.volume.kubernetes.io/'
/** Kubernetes' own: their waits are explained elsewhere. */
const PROTECTION: ReadonlySet<string> = new Set(['kubernetes.io/pv-protection', 'kubernetes.io/pvc-protection'])

/** Those that neither the sidecars nor Kubernetes itself wait for: their owners have to remove them. */
export function foreignFinalizers(finalizers: readonly string[] | undefined): readonly string[] {
  return (finalizers ?? []).filter((name) => !name.startsWith(OWN_FINALIZERS) && !PROTECTION.has(name))
}
