import type { Volume } from '@csi-sidecars/kube-types'

/** A volume with the content of a ConfigMap or a Secret. */
export interface ContentSource {
  readonly kind: 'configMap' | 'secret'
  /** The name of the ConfigMap or the Secret, which is in the namespace of the pod. */
  readonly name: string
  /** True if the object and any of its keys may be missing. */
  readonly optional: boolean
  /** The mode of each file for which its item sets no mode. */
  readonly mode: number
  /** The selected keys. Undefined selects all keys. */
  readonly items: readonly ContentItem[] | undefined
}

interface ContentItem {
  readonly key: string
  readonly path: string
  readonly mode: number | undefined
}

const MODE = 0o644

/** Returns undefined for other kinds of volumes. */
export function contentSourceOf({ configMap, secret }: Volume): ContentSource | undefined {
  if (configMap != null) return { kind: 'configMap', name: configMap.name ?? '', ...common(configMap) }
  if (secret != null) return { kind: 'secret', name: secret.secretName ?? '', ...common(secret) }
  return undefined
}

function common({ optional, defaultMode, items }: NonNullable<Volume['configMap']> | NonNullable<Volume['secret']>) {
  return {
    optional: optional === true,
    mode: defaultMode ?? MODE,
    items: items?.map(({ key, path, mode }) => ({ key, path, mode: mode ?? undefined })),
  }
}
