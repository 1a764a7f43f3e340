/** A row of the table of released programs. Workflows and scripts use the table. */
interface Row {
  /** The name of the executable, and of the image. */
  readonly name: string
  /** Its folder under apps. */
  readonly app: string
  readonly image: boolean
}

export const RELEASED = [
  { name: 'csi-attacher', app: 'attacher', image: true },
  { name: 'csi-resizer', app: 'resizer', image: true },
  { name: 'csi-provisioner', app: 'provisioner', image: true },
  { name: 'csi-snapshotter', app: 'snapshotter', image: true },
  { name: 'csi-sidecars', app: 'sidecars', image: true },
  { name: 'kubectl-csi', app: 'kubectl-csi', image: false },
] as const satisfies readonly Row[]
