export {
  ApiError,
  apiErrorOf,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isGone,
  isInvalid,
  isMissing,
  isNotFound,
  isOutcomeUnknown,
  isOutdated,
  isTooManyRequests,
  isUidMismatch,
  isUnreachable,
} from './api/api-error.ts'
export type {
  BookmarkFrame,
  ChangeFrame,
  EndFrame,
  KubeClient,
  ListOptions,
  ListPage,
  Projecting,
  RequestOptions,
  RequestPriority,
  RereadListener,
  Selection,
  SubresourceOption,
  WatchFrame,
  WatchOptions,
} from './api/client.ts'
export type { ClusterConfig } from './config/cluster-config.ts'
export { parseKubeconfig as readYamlMapping } from './config/kubeconfig-document.ts'
export { loadClusterConfig } from './config/load.ts'
export { yamlDocuments, yamlText } from './config/yaml.ts'
export { createKubeClient, type OwnedKubeClient } from './create-client.ts'
export { flowOptions } from './flow/policy.ts'
export { MissingPermissions } from './requests/missing-permissions.ts'
export type { ServerLimits } from './requests/refusals.ts'
export { clientWhileLeading } from './requests/while-leading.ts'
