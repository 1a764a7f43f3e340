import type { Api } from './api.ts'

const FLOW_CONTROL = '/apis/flowcontrol.apiserver.k8s.io/v1'

/**
 * API Priority and Fairness on a real server: a level with one share for all requests of a user, which refuses further
 * requests. Returns a function that removes the level.
 */
export async function limitUser(
  api: Api,
  { name, user }: { name: string; user: string },
): Promise<() => Promise<void>> {
  const common = { apiVersion: 'flowcontrol.apiserver.k8s.io/v1', metadata: { name } }
  await api.call('POST', `${FLOW_CONTROL}/prioritylevelconfigurations`, {
    body: {
      ...common,
      kind: 'PriorityLevelConfiguration',
      spec: { type: 'Limited', limited: { nominalConcurrencyShares: 1, limitResponse: { type: 'Reject' } } },
    },
  })
  const all = { verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }
  await api.call('POST', `${FLOW_CONTROL}/flowschemas`, {
    body: {
      ...common,
      kind: 'FlowSchema',
      spec: {
        matchingPrecedence: 100,
        priorityLevelConfiguration: { name },
        rules: [
          {
            subjects: [{ kind: 'User', user: { name: user } }],
            resourceRules: [all],
            nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
          },
        ],
      },
    },
  })
  return async () => {
    for (const plural of ['flowschemas', 'prioritylevelconfigurations']) {
      await api.call('DELETE', `${FLOW_CONTROL}/${plural}/${name}`)
    }
  }
}
