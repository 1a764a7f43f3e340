import { Metrics } from '@csi-sidecars/telemetry'
import { expect, test } from '@jest/globals'
import { OperationMetrics } from './operation-metrics.ts'

const PROBE = '/csi.v1.Identity/Probe'
const call = (code = 'OK', migrated = false) => ({ code, seconds: 0.2, migrated })

async function counts(metrics: Metrics): Promise<string[]> {
  const lines = (await metrics.text()).split('\n')
  return lines.filter((line) => line.includes('_count{')).map((line) => line.replace(/^\w+/, ''))
}

test('calls before the name of the driver is known are counted under unknown-driver', async () => {
  const metrics = new Metrics()
  const operations = new OperationMetrics(metrics)
  operations.observe(PROBE, call())
  operations.observe(PROBE, call('unknown-non-grpc'))
  expect(await counts(metrics)).toEqual([])
  operations.setDriverName('csi.example.com')
  operations.observe(PROBE, call('Canceled', true))
  expect(await counts(metrics)).toEqual([
    `{driver_name="unknown-driver",grpc_status_code="OK",method_name="${PROBE}"} 1`,
    `{driver_name="unknown-driver",grpc_status_code="unknown-non-grpc",method_name="${PROBE}"} 1`,
    `{driver_name="csi.example.com",grpc_status_code="Canceled",method_name="${PROBE}"} 1`,
  ])
})

test('if the driver has replaced an in-tree plugin, metrics drop earlier calls and label later calls `migrated`', async () => {
  const metrics = new Metrics()
  const operations = new OperationMetrics(metrics)
  operations.observe(PROBE, call())
  operations.restartWithMigrated('ebs.csi.aws.com')
  operations.observe(PROBE, call())
  operations.observe(PROBE, call('OK', true))
  operations.setDriverName('ebs.csi.aws.com')
  expect(await counts(metrics)).toEqual([
    `{driver_name="ebs.csi.aws.com",grpc_status_code="OK",method_name="${PROBE}",migrated="false"} 1`,
    `{driver_name="ebs.csi.aws.com",grpc_status_code="OK",method_name="${PROBE}",migrated="true"} 1`,
  ])
})

test('metrics keep at most a thousand calls until the name of the driver is known', async () => {
  const metrics = new Metrics()
  const operations = new OperationMetrics(metrics)
  for (let calls = 0; calls < 5_000; calls += 1) operations.observe(PROBE, call())
  operations.setDriverName('csi.example.com')
  expect(await counts(metrics)).toEqual([
    `{driver_name="unknown-driver",grpc_status_code="OK",method_name="${PROBE}"} 1000`,
  ])
})

test('the histogram of driver calls has buckets from 0.1 to 600 seconds', async () => {
  const metrics = new Metrics()
  const operations = new OperationMetrics(metrics)
  operations.setDriverName('d')
  operations.observe(PROBE, call())
  const labels = `driver_name="d",grpc_status_code="OK",method_name="${PROBE}"`
  const text = await metrics.text()
  expect(text).toContain('# TYPE csi_sidecar_operations_seconds histogram\n')
  expect(text).toContain(`csi_sidecar_operations_seconds_bucket{${labels},le="0.1"} 0\n`)
  expect(text).toContain(`csi_sidecar_operations_seconds_bucket{${labels},le="0.25"} 1\n`)
  expect(text).toContain(`csi_sidecar_operations_seconds_bucket{${labels},le="600"} 1\n`)
})
