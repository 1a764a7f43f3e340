export type {
  BookmarkFrame,
  CallOptions,
  ChangeFrame,
  EndFrame,
  GracePeriodOption,
  KubeClient,
  Lane,
  ListOptions,
  ListPage,
  Priority,
  Projecting,
  RereadListener,
  Selection,
  SubresourceOption,
  WatchFrame,
  WatchOptions,
} from './client.ts'
export type { ClusterConfig, ServerTrust } from './config/cluster-config.ts'
export type { Authorization, Certificate, Credentials } from './config/credentials.ts'
export { parseKubeconfig as readYamlMapping } from './config/kubeconfig-document.ts'
export { type LoadConfigOptions, loadClusterConfig } from './config/load.ts'
export { createKubeClient, type KubeClientOptions, type OwnedKubeClient } from './create-client.ts'
export {
  ApiError,
  type ApiErrorFields,
  apiErrorOf,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isGone,
  isInvalid,
  isMissing,
  isNotFound,
  isOutcomeUnknown,
  isTooManyRequests,
  isUidMismatch,
  isUnreachable,
} from './errors/api-error.ts'
export { type FlowOptions, flowOptions } from './flow/flow-options.ts'
export { guarded } from './requests/guarded.ts'
export type { ServerLimits } from './requests/refusals.ts'
