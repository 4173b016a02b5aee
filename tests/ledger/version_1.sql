BEGIN TRANSACTION;
CREATE TABLE discreet_balances (
	account VARCHAR(1000) NOT NULL, 
	entry INTEGER NOT NULL, 
	caps TEXT NOT NULL, 
	totals TEXT NOT NULL, 
	PRIMARY KEY (account)
);
INSERT INTO "discreet_balances" VALUES('/',0,'{"delta":"1/1000000","epsilon":"1"}','{"delta":"1/10000000","epsilon":"9/20"}');
INSERT INTO "discreet_balances" VALUES('/team',1,'{"delta":"0","epsilon":"1/2"}','{"delta":"0","epsilon":"1/10"}');
CREATE TABLE discreet_entries (
	number INTEGER NOT NULL, 
	hash VARCHAR(64) NOT NULL, 
	body TEXT NOT NULL, 
	PRIMARY KEY (number)
);
INSERT INTO "discreet_entries" VALUES(0,'f579f638c598f7a493436fafaab06f12eb148cd68880a35cb6772eaffd4e4389','{"account":"/","caps":{"delta":"1/1000000","epsilon":"1"},"kind":"ledger","note":"","number":0,"previous":"0000000000000000000000000000000000000000000000000000000000000000","terms":{"accept_assumed":false,"delta_reserve":"0","filter":{"composition":"basic"},"limit":{"delta":"1/1000000","epsilon":"1","measure":"ApproxDP"},"unit":{"id_column":null,"max_rows":null,"relation":"add_remove"}},"time":"2026-11-15T22:04:17.217626+00:00","totals":{"/":{"delta":"0","epsilon":"0"}},"who":"ann@desk"}');
INSERT INTO "discreet_entries" VALUES(1,'6b2c95de8e923095a0495b715eb089eddb95ed3989cdb134e1be9b4219a0bdc2','{"account":"/team","caps":{"delta":"0","epsilon":"1/2"},"kind":"account","limit":{"epsilon":"1/2","measure":"PureDP"},"note":"","number":1,"previous":"f579f638c598f7a493436fafaab06f12eb148cd68880a35cb6772eaffd4e4389","time":"2026-11-15T22:04:17.226821+00:00","totals":{"/team":{"delta":"0","epsilon":"0"}},"who":"ann@desk"}');
INSERT INTO "discreet_entries" VALUES(2,'3e31ce30c590b46bd72966dc9886b967958c70c6312f17e93444f82bc5ea60dd','{"account":"/","booked":{"delta":"0","epsilon":"1/20"},"event":{"event":"DiscreteLaplace","scale":"20","sensitivity":1,"version":1},"kind":"charge","note":"mean age","number":2,"previous":"6b2c95de8e923095a0495b715eb089eddb95ed3989cdb134e1be9b4219a0bdc2","time":"2026-11-15T22:04:17.233286+00:00","totals":{"/":{"delta":"0","epsilon":"1/20"}},"who":"ann@desk"}');
INSERT INTO "discreet_entries" VALUES(3,'02d318ad390cf9bf6ecbf9a5d9437a7bc2935d5b302830707c6b4d67287a70ed','{"account":"/team","booked":{"delta":"0","epsilon":"1/10"},"event":{"event":"DiscreteLaplace","scale":"10","sensitivity":1,"version":1},"kind":"charge","note":"","number":3,"previous":"3e31ce30c590b46bd72966dc9886b967958c70c6312f17e93444f82bc5ea60dd","time":"2026-11-15T22:04:17.236635+00:00","totals":{"/":{"delta":"0","epsilon":"3/20"},"/team":{"delta":"0","epsilon":"1/10"}},"who":"ann@desk"}');
INSERT INTO "discreet_entries" VALUES(4,'f9e566b4939ec9eb547b2af557334e47658436ef530c99a7dc1f6b12d01bd622','{"account":"/","booked":{"delta":"1/10000000","epsilon":"1/5"},"event":{"event":"DiscreteLaplace","scale":"10","sensitivity":1,"version":1},"kind":"charge","note":"","number":4,"previous":"02d318ad390cf9bf6ecbf9a5d9437a7bc2935d5b302830707c6b4d67287a70ed","time":"2026-11-15T22:04:17.240631+00:00","totals":{"/":{"delta":"1/10000000","epsilon":"7/20"}},"who":"ann@desk"}');
INSERT INTO "discreet_entries" VALUES(5,'9c4d9bee1e706502aae686e5f9df05e5dac5260b5a839e6bde696175144b6331','{"account":"/","booked":{"delta":"0","epsilon":"1/10"},"event":{"cost":{"epsilon":"1/10","measure":"PureDP"},"event":"External","note":"survey of 2019","version":1},"kind":"charge","note":"survey of 2019","number":5,"previous":"f9e566b4939ec9eb547b2af557334e47658436ef530c99a7dc1f6b12d01bd622","time":"2026-11-15T22:04:17.244597+00:00","totals":{"/":{"delta":"1/10000000","epsilon":"9/20"}},"who":"ann@desk"}');
CREATE TABLE discreet_version (
	version INTEGER NOT NULL
);
INSERT INTO "discreet_version" VALUES(1);
COMMIT;
