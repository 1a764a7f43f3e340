import { inPhase } from '@csi-sidecars/base'
import type { KubeClient, RequestOptions } from '../api/client.ts'

/**
 * Wraps a client so that `guard` runs right before the bytes of each write are sent, after every wait. If `guard`
 * throws, the write rejects with its error. A write reports the phase `writing` to the `onPhase` listeners of its
 * signal. Reads and watches pass without `guard`.
 */
export function clientWhileLeading(client: KubeClient, guard: () => void): KubeClient {
  const withGuard = <O extends RequestOptions>(options: O | undefined): O | RequestOptions => ({
    ...options,
    beforeSend: () => {
      options?.beforeSend?.()
      guard()
    },
  })
  const writing = <T>(options: RequestOptions | undefined, write: () => Promise<T>): Promise<T> =>
    inPhase('writing', options?.signal, write)
  return {
    get: (resource, ref, options) => client.get(resource, ref, options),
    list: (resource, options) => client.list(resource, options),
    watch: (resource, options) => client.watch(resource, options),
    ...(client.onReread && { onReread: client.onReread.bind(client) }),
    discover: (path, options) => client.discover(path, options),
    create: (resource, object, options) => writing(options, () => client.create(resource, object, withGuard(options))),
    replace: (resource, object, options) =>
      writing(options, () => client.replace(resource, object, withGuard(options))),
    patch: (resource, ref, patch, options) =>
      writing(options, () => client.patch(resource, ref, patch, withGuard(options))),
    delete: (resource, ref, options) => writing(options, () => client.delete(resource, ref, withGuard(options))),
  }
}
