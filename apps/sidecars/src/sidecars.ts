import { attacher } from '@csi-sidecars/attacher'
import { livenessprobe } from '@csi-sidecars/livenessprobe'
import { provisioner } from '@csi-sidecars/provisioner'
import { resizer } from '@csi-sidecars/resizer'
import { type App, combine, type DriverApp, type Program } from '@csi-sidecars/sidecar'

/** A released sidecar: it has an image, an executable and a section in the chart. */
interface Sidecar {
  /** The folder under `apps`, the prefix of its flags, and its section in the chart's values. */
  readonly app: AppName
  /** The task of the sidecar, for the label of its image. */
  readonly does: string
  readonly value: App
  /** The combined process runs it only if --controllers names it. */
  readonly preview?: true
}

export type AppName = 'attacher' | 'resizer' | 'provisioner'

/** The released sidecars. Images, executables, chart tests, end-to-end tests, benchmarks and documents follow this list. */
export const SIDECARS: readonly Sidecar[] = [
  { app: 'attacher', does: 'VolumeAttachments to ControllerPublishVolume and back', value: attacher },
  { app: 'resizer', does: 'claims to ControllerExpandVolume and ControllerModifyVolume', value: resizer },
  {
    app: 'provisioner',
    does: 'claims to CreateVolume, released volumes to DeleteVolume',
    value: provisioner,
    preview: true,
  },
]

export const APPS: readonly AppName[] = SIDECARS.map(({ app }) => app)

/** One entry for each released sidecar. */
export function byApp<T>(make: (app: AppName) => T): Readonly<Record<AppName, T>> {
  return Object.fromEntries(APPS.map((app) => [app, make(app)])) as Record<AppName, T>
}

/**
 * The livenessprobe runs in the combined process only and has neither image nor executable: in a separate container it
 * would need several times the memory of its original.
 */
export const LIVENESSPROBE: DriverApp = livenessprobe

/** The apps of the combined process. */
export const CHOICE = {
  byDefault: SIDECARS.filter(({ preview }) => preview !== true).map(({ value }) => value),
  onRequest: [...SIDECARS.filter(({ preview }) => preview === true).map(({ value }) => value), LIVENESSPROBE],
}

/** The program of the combined process. */
export const sidecars: Program = combine('csi-sidecars', CHOICE)
