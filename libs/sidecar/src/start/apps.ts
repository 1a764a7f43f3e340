import type { KubeClient } from '@csi-sidecars/kube-client'
import type { AppControllers, AppParts } from '../app.ts'
import type { StartContext } from '../process.ts'
import type { GatedApp } from './checks.ts'
import { logOf, notApplicable, withSidecarName } from './program.ts'
import type { LeadingApp } from './roles.ts'

/** Lets each app ask the API server. Returns the apps with the gates that apply then. */
export async function askServer(
  { host, log, signal }: StartContext,
  client: KubeClient,
  sidecars: readonly GatedApp[],
): Promise<readonly GatedApp[]> {
  const asked: GatedApp[] = []
  for (const sidecar of sidecars) {
    const { app, flags, gates } = sidecar
    const server = { client, log: logOf(sidecar, log), env: host.env, signal, flags, gates }
    const current = await app.askServer?.(server).catch(withSidecarName(sidecar))
    asked.push({ ...sidecar, gates: current ?? gates })
  }
  return asked
}

type SelectedApp = AppControllers & Omit<LeadingApp, 'lead'>

/** Lets each app choose its controllers, in turn. */
export async function selectControllers(
  sidecars: readonly GatedApp[],
  shared: Omit<AppParts, 'flags' | 'gates'>,
): Promise<readonly SelectedApp[]> {
  const selected: SelectedApp[] = []
  for (const sidecar of sidecars) selected.push(await select(sidecar, shared))
  return selected
}

/** If several apps run, an error says how to start without the app. */
async function select(sidecar: GatedApp, shared: Omit<AppParts, 'flags' | 'gates'>): Promise<SelectedApp> {
  const { app, flags, gates, companions } = sidecar
  const log = logOf(sidecar, shared.log)
  const caches = companions.length > 0 ? shared.caches.ownedBy(app.name) : shared.caches
  try {
    const startLog = logOf(sidecar, shared.startLog)
    return { sidecar, log, ...(await app.controllers({ ...shared, caches, log, startLog, flags, gates })) }
  } catch (error) {
    throw notApplicable(error, sidecar)
  }
}
