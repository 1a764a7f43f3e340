import type { KubeClient } from '@csi-sidecars/kube-client'
import { type ReadOnlyClient, readOnly } from '../facts/reader.ts'

export interface ProxiedClient {
  readonly client: ReadOnlyClient
  /** Paths that were asked for and are no objects', in their order. */
  readonly asked: string[]
}

/** Answers a query to the proxy of a pod. Throws the error of the proxy. */
export type PodProxy = (query: URLSearchParams) => unknown

/** Adds to a client what neither the emulator nor a bare API server has: a proxy to pods. */
export function withProxy(whole: KubeClient, proxy: PodProxy = () => ({})): ProxiedClient {
  const asked: string[] = []
  const discover = (path: string): Promise<unknown> => {
    asked.push(path)
    return Promise.try(() => proxy(new URL(path, 'http://x').searchParams))
  }
  return { client: { ...readOnly(whole), discover }, asked }
}
