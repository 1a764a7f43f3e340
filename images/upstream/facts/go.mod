module csi-sidecars.example/facts

go 1.26
