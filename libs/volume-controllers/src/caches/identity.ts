import type { Cached } from '@csi-sidecars/informer'
import type { KubeObject } from '@csi-sidecars/kube-types'

/** Returns the fields that every projection starts with. */
export function identityOf({ metadata }: KubeObject): Cached {
  const { namespace, name = '', resourceVersion = '', uid = '' } = metadata ?? {}
  return { key: namespace ? `${namespace}/${name}` : name, resourceVersion, uid }
}
