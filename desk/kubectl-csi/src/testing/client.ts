import type { KubeClient } from '@csi-sidecars/kube-client'
import { type ReadOnlyClient, readOnly } from '../facts/reader.ts'

/** A read-only client whose requests to the proxy of a pod a test answers. */
export interface ProxiedClient {
  readonly client: ReadOnlyClient
  /** The requested paths that are not paths of objects, in order. */
  readonly asked: string[]
}

/** Answers a query to the proxy of a pod. Throws the error of the proxy. */
export type PodProxy = (query: URLSearchParams) => unknown

/** Gives a client a proxy to pods, because the emulator has no such proxy. */
export function withProxy(client: KubeClient, proxy: PodProxy = () => ({})): ProxiedClient {
  const asked: string[] = []
  const discover = (path: string): Promise<unknown> => {
    asked.push(path)
    return Promise.try(() => proxy(new URL(path, 'http://x').searchParams))
  }
  return { client: { ...readOnly(client), discover }, asked }
}
