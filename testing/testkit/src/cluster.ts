import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type ApiServer,
  type ApiServerOptions,
  type CsiDriver,
  type CsiDriverOptions,
  startApiServer,
  startCsiDriver,
} from '@csi-sidecars/emulator'
import { type KubeObject, RESOURCES, type Resource } from '@csi-sidecars/kube-types'

/** The settings of the emulated API server and driver of a cluster, and its first objects. Default: no objects. */
export interface ClusterOptions {
  readonly api?: ApiServerOptions
  readonly driver?: Partial<Omit<CsiDriverOptions, 'socket'>>
  /** Objects that are stored unchanged, with their status, before the first request. */
  readonly objects?: readonly KubeObject[]
}

/** An emulated API server and CSI driver in this process, with a temporary directory. */
export interface EmulatedCluster extends AsyncDisposable {
  readonly api: ApiServer
  readonly driver: CsiDriver
  readonly directory: string
  /** The path of a kubeconfig file for the API server. */
  readonly kubeconfig: string
  /** Stores objects of any kind exactly as given. */
  add(...objects: readonly KubeObject[]): void
  /** Stops the API server and the driver, and removes the directory. */
  stop(): Promise<void>
}

/**
 * Starts an API server and a driver for one test: `await using cluster = await startCluster()`. The driver accepts
 * unknown volumes, so a test need not create the volumes of its PersistentVolumes.
 */
export async function startCluster(options: ClusterOptions = {}): Promise<EmulatedCluster> {
  const directory = await mkdtemp(join(tmpdir(), 'csi-'))
  const api = await startApiServer(options.api)
  const socket = join(directory, 'csi.sock')
  const driver = await startCsiDriver({ unknownVolumes: 'adopt', ...options.driver, socket })
  const kubeconfig = join(directory, 'kubeconfig')
  await writeFile(kubeconfig, api.kubeconfig())
  const stop = async (): Promise<void> => {
    await Promise.all([driver.stop(), api.stop()])
    await rm(directory, { recursive: true, force: true })
  }
  const add = (...objects: readonly KubeObject[]): void => {
    for (const object of objects) api.create(resourceOf(object), object)
  }
  for (const object of options.objects ?? []) add(object)
  return { api, driver, directory, kubeconfig, add, stop, [Symbol.asyncDispose]: stop }
}

/** Returns the resource of an object's kind. */
export function resourceOf(object: KubeObject): Resource<KubeObject> {
  const found = RESOURCES.find((resource) => resource.kind === object.kind)
  if (found === undefined) throw new RangeError(`no resource for kind ${String(object.kind)}`)
  return found as Resource<KubeObject>
}
