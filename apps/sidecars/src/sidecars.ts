import { attacher } from '@csi-sidecars/attacher'
import { resizer } from '@csi-sidecars/resizer'
import { type CombinedApp, combinable, combine, type Program } from '@csi-sidecars/sidecar'

interface Sidecar {
  /** Its folder under apps, its prefix before flags, its section in the chart's values. */
  readonly app: string
  /** What it does, for the label of its image. */
  readonly does: string
  readonly value: CombinedApp
}

/** The sidecars. Images, executables, chart tests, stories, benchmarks and documents are made from this list. */
export const SIDECARS = [
  {
    app: 'attacher',
    does: 'VolumeAttachments to ControllerPublishVolume and back',
    value: combinable(attacher),
  },
  {
    app: 'resizer',
    does: 'claims to ControllerExpandVolume and ControllerModifyVolume',
    value: combinable(resizer),
  },
] as const satisfies readonly Sidecar[]

export type AppName = (typeof SIDECARS)[number]['app']

export const APPS: readonly AppName[] = SIDECARS.map(({ app }) => app)

/** One entry for each sidecar. */
export function byApp<T>(make: (app: AppName) => T): Readonly<Record<AppName, T>> {
  return Object.fromEntries(APPS.map((app) => [app, make(app)])) as Record<AppName, T>
}

/** The controllers that one process can run. */
export const sidecars: Program = combine(
  'csi-sidecars',
  SIDECARS.map(({ value }) => value),
)
