/** What a release ships, in one table: workflows and scripts follow it. */
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
  { name: 'csi-sidecars', app: 'sidecars', image: true },
  { name: 'kubectl-csi', app: 'kubectl-csi', image: false },
] as const satisfies readonly Row[]

/** Each image has a second one with a user of its own. */
export const IMAGES: readonly ReleasedImage[] = RELEASED.filter(({ image }) => image).flatMap(({ name, app }) => [
  { repository: name, target: app, suffix: '' },
  { repository: name, target: `${app}-nonroot`, suffix: '-nonroot' },
])

export interface ReleasedImage {
  readonly repository: string
  /** In the Dockerfile. */
  readonly target: string
  /** Of the tag, after the version. */
  readonly suffix: string
}

/** Where the chart is in the registry. */
export const CHART = 'charts/csi-sidecars'

/** The architectures of a release, each of which is built on its own kind of machine. */
export const RELEASED_ARCHITECTURES = ['x64', 'arm64'] as const
