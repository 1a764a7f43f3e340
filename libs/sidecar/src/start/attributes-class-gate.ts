import { isNotFound, type KubeClient } from '@csi-sidecars/kube-client'
import type { AppParts } from '../app.ts'
import type { FeatureGates } from '../flags/feature-gates.ts'

const CLASS = 'VolumeAttributesClass'

/** Unless the command line sets the gate, it depends on whether the API server serves these classes. */
export async function attributesClassGate<N extends string>(
  gates: FeatureGates<N | typeof CLASS>,
  { client, log, signal }: Pick<AppParts, 'client' | 'log' | 'signal'>,
): Promise<FeatureGates<N | typeof CLASS>> {
  if (gates.explicit(CLASS)) return gates
  try {
    if (await servesClasses(client, signal)) {
      log.info('VolumeAttributesClass v1 API is available')
      return gates
    }
  } catch (error) {
    signal.throwIfAborted()
    log.error(error, 'Failed to check VolumeAttributesClass V1 API availability')
    return gates
  }
  log.info('Disabling VolumeAttributesClass feature gate because the VolumeAttributesClass v1 API is not available')
  return gates.withDefault(CLASS, false)
}

async function servesClasses(client: KubeClient, signal: AbortSignal): Promise<boolean> {
  try {
    const answer = await client.discover('/apis/storage.k8s.io/v1', { signal })
    const { resources = [] } = answer as { readonly resources?: readonly { readonly kind?: string }[] }
    return resources.some(({ kind }) => kind === CLASS)
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}
