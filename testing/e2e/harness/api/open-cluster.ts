import { mkdirSync } from 'node:fs'
import { apiServer, controlPlaneBinaries } from '../programs/binaries.ts'
import type { Target } from '../subject.ts'
import type { Cluster } from './cluster.ts'
import { startControlPlane } from './control-plane.ts'
import { startEmulated } from './emulated.ts'
import { grant } from './user.ts'

/** Starts an API server on which the sidecars have their permissions. */
export async function openCluster(
  root: string,
  target: Target,
  logs: string,
): Promise<{ cluster: Cluster } & AsyncDisposable> {
  mkdirSync(logs, { recursive: true })
  const cluster = target === 'real' ? await startReal(root, logs) : await startEmulated()
  await grant(cluster.api)
  return { cluster, [Symbol.asyncDispose]: () => cluster.stop() }
}

function startReal(root: string, logs: string): Promise<Cluster> {
  const assets = controlPlaneBinaries(root)
  if ('remedy' in assets) throw new Error(assets.remedy)
  return startControlPlane({ binaries: assets.folder, logs, ...apiServer() })
}

export function targetOf(text: string): Target {
  if (text === 'real' || text === 'emulator') return text
  throw new Error(`--target is real or emulator, not ${text}`)
}
