import { type AppName, type NameOnRequest, SIDECARS, SIDECARS_ON_REQUEST } from '@csi-sidecars/sidecars'
import { FACTS } from '@csi-sidecars/sidecars/facts'

export type TestedApp = AppName | NameOnRequest
/** A sidecar, or attacher and resizer in one process. */
export type Subject = TestedApp | 'both'
export type Target = 'real' | 'emulator'
export const TARGETS: readonly Target[] = ['emulator', 'real']
/** The executables under test: our sidecars, our combined executable with one controller, or the Go sidecars. */
export type Binaries = 'ours' | 'one' | 'originals'
export type Executables = Readonly<Record<Subject, string>>

/** All sidecars that have an executable. */
export const SUBJECTS = [...SIDECARS, ...SIDECARS_ON_REQUEST]

/** Calls `make` for each sidecar. Returns the results by sidecar. */
export function bySubject<T>(make: (app: TestedApp) => T): Readonly<Record<TestedApp, T>> {
  return Object.fromEntries(SUBJECTS.map(({ app }) => [app, make(app)])) as Record<TestedApp, T>
}

export function leaseName(app: TestedApp, driverName: string): string {
  return `${FACTS[app].leasePrefix}${driverName.replace(/[^a-zA-Z0-9-]/g, '-')}`
}
