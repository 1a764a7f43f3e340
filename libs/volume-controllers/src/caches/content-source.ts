import type { Volume } from '@csi-sidecars/kube-types'

/** A volume whose content the API holds, in the terms that a ConfigMap and a Secret have in common. */
export interface ContentSource {
  readonly kind: 'configMap' | 'secret'
  /** Of the object, in the pod's namespace. */
  readonly name: string
  /** It may be missing, and so may any of its keys. */
  readonly optional: boolean
  /** Of each file that has no mode of its own. */
  readonly mode: number
  /** Undefined: all keys. */
  readonly items: readonly ContentItem[] | undefined
}

interface ContentItem {
  readonly key: string
  readonly path: string
  readonly mode: number | undefined
}

const MODE = 0o644

/** Undefined for a volume of another kind. */
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
