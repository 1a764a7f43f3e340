import { isNotFound } from '@csi-sidecars/kube-client'
import { CONFIG_MAPS, SECRETS } from '@csi-sidecars/kube-types'
import type { ContentSource } from '../caches/content-source.ts'
import { configMapData, type Payload, payloadOf, secretData } from './content.ts'
import type { NodeParts } from './node-parts.ts'

/** The files of a ConfigMap or Secret as the API has it now. Throws kubelet's words for one that is missing. */
export async function readContent(
  source: ContentSource,
  { client, namespace }: Pick<NodeParts, 'client'> & { readonly namespace: string },
  signal: AbortSignal,
): Promise<Payload> {
  const { kind, name, optional } = source
  const ref = { namespace, name }
  try {
    const data =
      kind === 'secret'
        ? secretData(await client.get(SECRETS, ref, { signal }))
        : configMapData(await client.get(CONFIG_MAPS, ref, { signal }))
    return payloadOf(source, data)
  } catch (error) {
    if (!isNotFound(error)) throw error
    if (optional) return payloadOf(source, undefined)
    throw new Error(`${kind.toLowerCase()} "${name}" not found`, { cause: error })
  }
}
