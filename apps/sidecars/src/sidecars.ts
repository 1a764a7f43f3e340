import { attacher } from '@csi-sidecars/attacher'
import { livenessprobe } from '@csi-sidecars/livenessprobe'
import { resizer } from '@csi-sidecars/resizer'
import { type App, combine, type DriverApp, type Program } from '@csi-sidecars/sidecar'

/** A released sidecar: it has an image, an executable and a section in the chart. */
interface Sidecar {
  /** Its folder under apps, its prefix before flags, its section in the chart's values. */
  readonly app: AppName
  /** Its task, for the label of its image. */
  readonly does: string
  readonly value: App
}

export type AppName = 'attacher' | 'resizer'

/** The released sidecars. Images, executables, chart tests, end-to-end tests, benchmarks and documents follow this list. */
export const SIDECARS: readonly Sidecar[] = [
  { app: 'attacher', does: 'VolumeAttachments to ControllerPublishVolume and back', value: attacher },
  { app: 'resizer', does: 'claims to ControllerExpandVolume and ControllerModifyVolume', value: resizer },
]

export const APPS: readonly AppName[] = SIDECARS.map(({ app }) => app)

/** One entry for each released sidecar. */
export function byApp<T>(make: (app: AppName) => T): Readonly<Record<AppName, T>> {
  return Object.fromEntries(APPS.map((app) => [app, make(app)])) as Record<AppName, T>
}

/**
 * It runs in the combined process only and has neither image nor executable: in a container of its own it would need
 * several times the memory of its original.
 */
export const LIVENESSPROBE: DriverApp = livenessprobe

/** The apps of the combined process. */
export const CHOICE = { byDefault: SIDECARS.map(({ value }) => value), onRequest: [LIVENESSPROBE] }

/** The program of the combined process. */
export const sidecars: Program = combine('csi-sidecars', CHOICE)
