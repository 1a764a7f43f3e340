/** A released program. Workflows and scripts read the table of these programs. */
interface Row {
  /** The name of the executable, and of the image. */
  readonly name: string
  /** The folder of the program in apps/. */
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
