import type { Api } from '../harness/api/api.ts'
import { eventually } from '../harness/waiting.ts'

export const FLOW_CONTROL = '/apis/flowcontrol.apiserver.k8s.io/v1'

interface FlowSchema {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] }
}

/** Waits until the API server classifies requests by this FlowSchema. It then reports that the priority level exists. */
export async function flowSchemaApplied(api: Api, name: string): Promise<void> {
  await eventually(`the use of FlowSchema ${name}`, async () => {
    const { status } = await api.call<FlowSchema>('GET', `${FLOW_CONTROL}/flowschemas/${name}`)
    return status?.conditions?.some((condition) => condition.type === 'Dangling' && condition.status === 'False')
  })
}
