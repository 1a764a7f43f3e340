/** How fast requests may be sent. */
export type FlowOptions =
  | {
      readonly kind: 'bucket'
      /** Negative: no limit. */
      readonly qps: number
      readonly burst: number
      /** Each API group has a bucket of its own. */
      readonly perGroup: boolean
    }
  | { readonly kind: 'adaptive' }

const DEFAULT_QPS = 5
const DEFAULT_BURST = 10

/**
 * Returns the flow control that --kube-api-qps and --kube-api-burst request. Without both flags the rate is adaptive;
 * with one flag the other has its default. As in the original, a rate of 0 means the default rate for each API group.
 * Throws if the burst allows no requests.
 */
export function flowOptions(flags: { qps?: number | undefined; burst?: number | undefined }): FlowOptions {
  if (flags.qps === undefined && flags.burst === undefined) return { kind: 'adaptive' }
  const qps = flags.qps ?? DEFAULT_QPS
  const burst = flags.burst ?? DEFAULT_BURST
  if (qps > 0 && burst <= 0) {
    throw new Error(
      'burst is required to be greater than 0 when RateLimiter is not set and QPS is set to greater than 0',
    )
  }
  if (qps === 0) return { kind: 'bucket', qps: DEFAULT_QPS, burst: burst === 0 ? DEFAULT_BURST : burst, perGroup: true }
  return { kind: 'bucket', qps, burst, perGroup: false }
}
