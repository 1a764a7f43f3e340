/** A released program. Workflows and scripts read the table of these programs. */
interface Row {
  /** The name of the executable, and of the image. */
  readonly name: string
  /** The folder of the program. */
  readonly folder: string
  readonly image: boolean
}

export const RELEASED = [
  { name: 'csi-attacher', folder: 'apps/attacher', image: true },
  { name: 'csi-resizer', folder: 'apps/resizer', image: true },
  { name: 'csi-provisioner', folder: 'apps/provisioner', image: true },
  { name: 'csi-snapshotter', folder: 'apps/snapshotter', image: true },
  { name: 'csi-sidecars', folder: 'apps/sidecars', image: true },
  { name: 'kubectl-csi', folder: 'desk/kubectl-csi', image: false },
] as const satisfies readonly Row[]
