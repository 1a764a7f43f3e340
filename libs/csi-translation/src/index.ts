export {
  csiNameFromInTreeName,
  inTreeNameFromCSIName,
  inTreePluginNameFromSpec,
  isInlineMigratable,
  isMigratableInTreePluginByName,
  isMigratedCSIDriverByName,
  isPVMigratable,
  repairVolumeHandle,
  translateCSIPVToInTree,
  translateInTreeInlineVolumeToCSI,
  translateInTreePVToCSI,
  translateInTreeStorageClassToCSI,
} from './translate.ts'
export { TranslationError, type TranslationErrorCode } from './translation-error.ts'
