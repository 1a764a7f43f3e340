import { existsSync } from 'node:fs'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import type { Clock } from '@csi-sidecars/base'
import type { Driver } from '@csi-sidecars/csi'
import { ControllerServiceCapability_RPC_Type as ControllerRpc } from '@csi-sidecars/csi-proto'
import { freePort } from '@csi-sidecars/emulator'
import type { Logger } from '@csi-sidecars/telemetry'
import { APPS, HERE, isInRepository } from '../place.ts'
import { type SidecarProcess, startSidecar } from './sidecars.ts'

/** A sidecar and the address of its `--http-endpoint`. */
export interface StartedSidecar {
  readonly sidecar: SidecarProcess
  readonly address: string
}

/** The driver and the API server that a sidecar is connected to. */
export interface SidecarTarget {
  readonly csiAddress: string
  readonly kubeconfig: string
  /** True if at least one node of the driver reports a topology. */
  readonly hasTopology: boolean
  /** True if the provisioner runs with `--parameter-templates`. The Go provisioner refuses this flag. */
  readonly hasParameterTemplates: boolean
}

/** Everything that the start of all sidecars of a driver needs. */
export interface SidecarParts {
  readonly driver: Driver
  readonly connection: SidecarTarget
  /** The folder for the logs of the sidecars. */
  readonly directory: string
  /** Additional flags for every sidecar. */
  readonly sidecarArgs?: readonly string[] | undefined
  readonly clock: Clock
  readonly log: Logger
  readonly onTrouble: (message: string) => void
  readonly stack: AsyncDisposableStack
}

/** The sidecar runs if the driver has at least one of these capabilities. Undefined: the sidecar always runs. */
const NEEDS = {
  attacher: undefined,
  resizer: [ControllerRpc.EXPAND_VOLUME, ControllerRpc.MODIFY_VOLUME],
  provisioner: [ControllerRpc.CREATE_DELETE_VOLUME],
  snapshotter: [ControllerRpc.CREATE_DELETE_SNAPSHOT],
} as const satisfies Readonly<Record<string, readonly ControllerRpc[] | undefined>>
export type SidecarApp = keyof typeof NEEDS
export const SIDECARS = Object.keys(NEEDS) as readonly SidecarApp[]

/** The path of each sidecar's binary. A sidecar without a path does not run. */
export type SidecarPaths = Readonly<Partial<Record<SidecarApp, string | undefined>>>

/** Returns the given sidecars, or the sidecars built in this repository. */
export async function sidecarBinaries(paths: SidecarPaths): Promise<SidecarPaths> {
  const entries = SIDECARS.map(async (app) => [app, paths[app] ?? (await builtBinary(app))])
  return Object.fromEntries(await Promise.all(entries))
}

/** Returns the sidecar binaries in a folder. Throws if there are none. */
export function sidecarsIn(folder: string): SidecarPaths {
  const found = SIDECARS.map((app) => [app, join(folder, `csi-${app}`)] as const).filter(([, path]) => existsSync(path))
  if (found.length > 0) return Object.fromEntries(found)
  throw new Error(`${folder} has no sidecar: ${SIDECARS.map((app) => `csi-${app}`).join(', ')}`)
}

async function builtBinary(app: SidecarApp): Promise<string> {
  if (!isInRepository) return fileURLToPath(new URL(`csi-${app}.cjs`, HERE))
  const built = join(APPS, app, 'dist', `csi-${app}`)
  await access(built).catch(() => {
    throw new Error(`${built} is not built yet: npm run build`)
  })
  return built
}

/** Returns the command that runs a binary. A script runs with the Node.js that runs this process. */
export function programOf(binary: string): { readonly command: string; readonly args: readonly string[] } {
  return binary.endsWith('.cjs') ? { command: process.execPath, args: [binary] } : { command: binary, args: [] }
}

/** Returns the flags that connect a sidecar to the driver and to the API server. */
export function flagsOf(app: SidecarApp, target: SidecarTarget): readonly string[] {
  const flags = [`--csi-address=${target.csiAddress}`, `--kubeconfig=${target.kubeconfig}`]
  if (app !== 'provisioner') return flags
  return [
    ...flags,
    // If no node reports a topology, the provisioner works only without its feature gate Topology.
    ...(target.hasTopology ? [] : ['--feature-gates=Topology=false']),
    ...(target.hasParameterTemplates ? ['--parameter-templates'] : []),
  ]
}

/** Starts each sidecar that has a binary and that can serve the driver, according to the driver's capabilities. */
export async function startSidecars(binaries: SidecarPaths, deps: SidecarParts): Promise<readonly StartedSidecar[]> {
  const { driver, connection, directory, clock, log, onTrouble, stack } = deps
  const started: StartedSidecar[] = []
  for (const app of SIDECARS) {
    const binary = binaries[app]
    const isSupported = NEEDS[app]?.some((capability) => driver.capabilities.controller.has(capability)) !== false
    if (binary === undefined || !isSupported) continue
    const name = `csi-${app}`
    const address = `127.0.0.1:${await freePort()}`
    const program = programOf(binary)
    const args = [
      ...program.args,
      ...flagsOf(app, connection),
      `--http-endpoint=${address}`,
      ...(deps.sidecarArgs ?? []),
    ]
    const logFile = join(directory, `${name}.log`)
    const onExit = (reason: string): void => onTrouble(`${name} ended ${reason}; its log is ${logFile}`)
    const sidecar = await startSidecar({ name, command: program.command, args, logFile, clock, log, onExit })
    stack.defer(() => sidecar.stop())
    started.push({ sidecar, address })
  }
  return started
}
